extension SearchEvaluator {
  /// Calls with the number of words of each record in some fields.
  ///
  /// Most texts have fewer than 128 words. Then each length of a block is one byte, and those of the wanted records
  /// are read where they are.
  ///
  /// - Parameters:
  ///   - wanted: the records, in order.
  ///   - fields: the fields, in order; the closure gets the place of one among them.
  func forEachLengths(
    of wanted: [UInt64], _ fields: [Int],
    _ body: (_ place: Int, _ slot: Int, _ length: UInt64) -> Void
  ) throws {
    let fieldCount = tree.search.fields.count
    var place = 0
    try forEachBlockOfLengths(wanted) { block, numbers, bytes in
      while place < wanted.count, wanted[place] < block.first { place += 1 }
      guard place < wanted.count, let last = numbers.last, wanted[place] <= last else { return }
      var bytes = bytes
      let start = bytes.offset
      let isEven = block.value.count - start == numbers.count * fieldCount
      for (row, number) in numbers.enumerated() {
        while place < wanted.count, wanted[place] < number { place += 1 }
        guard place < wanted.count else { return }
        let isWanted = wanted[place] == number
        if isEven {
          guard isWanted else { continue }
          for (slot, field) in fields.enumerated() {
            let length = block.value[start + row * fieldCount + field]
            guard length < 0x80 else { throw SearchBytes.damaged }
            body(place, slot, UInt64(length))
          }
          continue
        }
        var slot = 0
        for field in 0..<fieldCount {
          let length = try bytes.number()
          guard isWanted, slot < fields.count, fields[slot] == field else { continue }
          body(place, slot, length)
          slot += 1
        }
      }
    }
  }
}
