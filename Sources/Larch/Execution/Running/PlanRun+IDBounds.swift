extension PlanRun {
  /// Ranges of ids, narrowed to the ids of the keys that bound them.
  ///
  /// With a limit only the end is looked for at which the scan begins.
  func bounded(_ ranges: [KeyRange]) throws -> [KeyRange] {
    var rest = ranges
    var descends = false
    if case .byID(let isDescending) = plan.order { descends = isDescending }
    var isLimited = plan.limit != nil
    if case .sorted = plan.order { isLimited = false }
    for scan in plan.idBounds where !rest.isEmpty {
      var bound = KeyRange.everything
      if !descends || !isLimited {
        guard let first = try id(of: scan, isLast: false) else { return [] }
        bound.lower = first
      }
      if descends || !isLimited {
        guard let last = try id(of: scan, isLast: true) else { return [] }
        bound.upper = last + [0]
      }
      rest = KeyRange.intersection(rest, [bound])
    }
    return rest
  }

  /// The first or the last id of a key; nil if the index does not have it.
  private func id(of scan: Plan.IndexScan, isLast: Bool) throws -> [UInt8]? {
    let scanner = try IndexScanner(scan, in: collection, idsDescend: isLast, context: context)
    defer {
      add(entriesExamined: scanner.entriesExamined)
      scanner.close()
    }
    guard try scanner.nextKey(), try scanner.nextID() else { return nil }
    return [UInt8](scanner.id)
  }
}
