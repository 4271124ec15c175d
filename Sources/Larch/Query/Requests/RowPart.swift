/// One side of the rows of a join: the record, in the form that a row has it.
///
/// In code that is compiled once for all record types, using `Right?` or `(Left, Right?)` makes the
/// runtime look up that type each time, which costs as much as decoding a record. So a part has its
/// type in the row as its own generic parameter, and copies its value into the row.
class RowPart<R> {
  /// Whether there is a value to copy; false if a required record is missing.
  final var isFilled = false
  /// The layout of the part in the memory of the row.
  let size: Int
  let alignment: Int

  init(size: Int, alignment: Int) {
    self.size = size
    self.alignment = alignment
  }

  func set(_ record: R) {}
  func setMissing() {}

  /// Copies the part into a row.
  func copy(to target: UnsafeMutableRawPointer) {}
}

/// A part whose type in the row is `Value`: the record, or an optional of it.
final class TypedRowPart<R, Value>: RowPart<R> {
  private let memory: UnsafeMutablePointer<Value>
  private let fill: (UnsafeMutablePointer<Value>, R) -> Void
  private let missing: ((UnsafeMutablePointer<Value>) -> Void)?

  fileprivate init(
    _ fill: @escaping (UnsafeMutablePointer<Value>, R) -> Void,
    missing: ((UnsafeMutablePointer<Value>) -> Void)?
  ) {
    memory = .allocate(capacity: 1)
    self.fill = fill
    self.missing = missing
    super.init(size: MemoryLayout<Value>.size, alignment: MemoryLayout<Value>.alignment)
  }

  deinit {
    empty()
    memory.deallocate()
  }

  private func empty() {
    if isFilled { memory.deinitialize(count: 1) }
    isFilled = false
  }

  override func set(_ record: R) {
    empty()
    fill(memory, record)
    isFilled = true
  }

  override func setMissing() {
    empty()
    guard let missing else { return }
    missing(memory)
    isFilled = true
  }

  override func copy(to target: UnsafeMutableRawPointer) {
    target.assumingMemoryBound(to: Value.self).initialize(from: memory, count: 1)
  }
}

extension RowPart {
  /// The record itself.
  static func record() -> RowPart {
    TypedRowPart<R, R>({ $0.initialize(to: $1) }, missing: nil)
  }

  /// The record, or nil.
  static func optional() -> RowPart {
    TypedRowPart<R, R?>({ $0.initialize(to: $1) }, missing: { $0.initialize(to: nil) })
  }
}
