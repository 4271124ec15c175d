extension RandomAccessCollection where Index == Int {
  /// In sorted elements, the place after all that come before a sought one. The closure tells that of
  /// an element.
  ///
  /// - Complexity: the logarithm of the number of elements.
  @inline(__always)
  func placeAfter<E: Error>(_ comesBefore: (Element) throws(E) -> Bool) throws(E) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if try comesBefore(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
