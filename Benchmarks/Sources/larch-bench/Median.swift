func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/// The median of same-round ratios: noise that lasts longer than a round cancels out.
func medianRatio(_ values: [Double], _ base: [Double]) -> Double {
  median(zip(values, base).map { $0 / $1 })
}
