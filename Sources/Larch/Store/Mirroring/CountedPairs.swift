/// Passes pairs on, and tells now and then how many there were.
final class CountedPairs: LogStateWriter {
  private let writer: any LogStateWriter
  private let tell: ((Int) throws -> Void)?
  private var pairs = 0

  init(into writer: any LogStateWriter, _ tell: ((Int) throws -> Void)?) {
    self.writer = writer
    self.tell = tell
  }

  func begin(_ tree: LogTree) throws { try writer.begin(tree) }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    try writer.add(key, value)
    pairs += 1
    if pairs % 10_000 == 0 { try tell?(pairs) }
  }
}
