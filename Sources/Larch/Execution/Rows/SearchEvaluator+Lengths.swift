extension SearchEvaluator {
  /// Calls with the number of words of each record in some fields, for a block of the word without bytes.
  ///
  /// Most texts have fewer than 128 words. Then each length of a block is one byte, and those of the wanted records
  /// are read where they are.
  ///
  /// - Parameters:
  ///   - wanted: the records, in order.
  ///   - fields: the fields, in order; the closure gets the place of one among them.
  @inline(__always)  // For each record that is scored.
  static func readLengths(
    _ block: Block, of wanted: [UInt64], _ fields: [Int], _ search: SearchSchema,
    _ body: (_ place: Int, _ slot: Int, _ length: UInt64) -> Void
  ) throws {
    let fieldCount = search.fields.count
    let numbers = block.numbers
    let first = numbers[0]
    let last = numbers[numbers.count - 1]
    let isNarrow = block.value.count - block.start == numbers.count * fieldCount
    let isDense = last - first == UInt64(numbers.count - 1)
    var place = SearchEvaluator.place(atOrAfter: first, in: wanted)
    var row = 0
    var bytes = SearchBytes(block.value, at: block.start)
    /// The first record whose lengths were not passed.
    var unread = 0
    while place < wanted.count, wanted[place] <= last {
      let number = wanted[place]
      // Only damaged blocks of words are not in order.
      guard number >= first else { throw SearchBytes.damaged }
      if isDense { row = Int(truncatingIfNeeded: number &- first) }
      while numbers[row] < number { row &+= 1 }
      if numbers[row] == number {
        if isNarrow {
          let start = block.start + row * fieldCount
          for slot in fields.indices {
            let length = block.value[start + fields[slot]]
            guard length < 0x80 else { throw SearchBytes.damaged }
            body(place, slot, UInt64(length))
          }
        } else {
          guard row >= unread else { throw SearchBytes.damaged }
          try bytes.skipNumbers((row &- unread) &* fieldCount)
          unread = row &+ 1
          var slot = 0
          for field in 0..<fieldCount {
            let length = try bytes.number()
            guard slot < fields.count, fields[slot] == field else { continue }
            body(place, slot, length)
            slot += 1
          }
        }
      }
      place &+= 1
    }
  }
}
