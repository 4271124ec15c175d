import Larch

/// What the hooks of a test do, and what they received, in order.
///
/// Hooks have no other way to the test: a task-local value, which no other test sees.
final class Script: @unchecked Sendable {
  @TaskLocal static var current: Script?

  enum Step: String {
    case willSave, willInsert, willUpdate, didInsert, didUpdate, didSave, willDelete, didDelete
    case didCommit
  }

  /// Such as `willSave Person ada`.
  private(set) var events: [String] = []
  /// Called by each hook but `didCommit`; it may change the record.
  var action: ((Step, inout any Scripted, WriteTransaction) throws -> Void)?

  /// Runs `body` with the hooks of this script.
  @discardableResult
  static func run<T>(
    _ action: ((Step, inout any Scripted, WriteTransaction) throws -> Void)? = nil,
    _ body: (Script) throws -> T
  ) rethrows -> T {
    let script = Script()
    script.action = action
    return try $current.withValue(script) { try body(script) }
  }

  func takeEvents() -> [String] {
    defer { events = [] }
    return events
  }

  func note(_ event: String) { events.append(event) }

  static func step<R: Scripted>(
    _ step: Step, _ record: inout R, _ tx: WriteTransaction, _ detail: String = ""
  ) throws {
    guard let script = current else { return }
    script.note("\(step) \(record.event)\(detail)")
    guard let action = script.action else { return }
    var any: any Scripted = record
    try action(step, &any, tx)
    if let changed = any as? R { record = changed }
  }
}

/// A record whose hooks do what the script of the test says.
protocol Scripted: Record {
  var name: String { get set }
}

extension Scripted {
  var event: String { "\(Self.collectionName) \(name)" }

  mutating func willSave(in tx: WriteTransaction) throws { try Script.step(.willSave, &self, tx) }
  mutating func willInsert(in tx: WriteTransaction) throws {
    try Script.step(.willInsert, &self, tx)
  }
  mutating func willUpdate(from stored: Self, in tx: WriteTransaction) throws {
    try Script.step(.willUpdate, &self, tx, " from \(stored.name)")
  }
  func willDelete(in tx: WriteTransaction) throws {
    var copy = self
    try Script.step(.willDelete, &copy, tx)
  }
  func didInsert(in tx: WriteTransaction) throws {
    var copy = self
    try Script.step(.didInsert, &copy, tx)
  }
  func didUpdate(from previous: Self, in tx: WriteTransaction) throws {
    var copy = self
    try Script.step(.didUpdate, &copy, tx, " from \(previous.name)")
  }
  func didSave(in tx: WriteTransaction) throws {
    var copy = self
    try Script.step(.didSave, &copy, tx)
  }
  func didDelete(in tx: WriteTransaction) throws {
    var copy = self
    try Script.step(.didDelete, &copy, tx)
  }
  func didCommit(_ change: RecordChange) {
    Script.current?.note("didCommit \(event) \(change)")
  }
}

/// Thrown by hooks.
struct Refused: Error {}
