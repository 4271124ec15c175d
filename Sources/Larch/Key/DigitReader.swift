/// Reads the numbers of a generated table: digits of five bits, the lowest first, from the character 0 on;
/// the sixth bit says that more follow.
struct DigitReader {
  private let text: StaticString
  private var offset = 0

  init(_ text: StaticString) { self.text = text }

  mutating func next() -> UInt32? {
    var value: UInt32 = 0
    var shift: UInt32 = 0
    while offset < text.utf8CodeUnitCount {
      let byte = text.utf8Start[offset]
      offset += 1
      // Line ends stand between digits.
      if byte < 48 { continue }
      value |= UInt32((byte - 48) & 31) << shift
      shift += 5
      if byte - 48 < 32 { return value }
    }
    return nil
  }
}
