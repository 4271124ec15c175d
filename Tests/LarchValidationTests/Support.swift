import LarchTestSupport
import Testing

@testable import Larch

/// What an error says, for comparison: `name cant_be_blank`, `age too_large 150`.
func told(_ errors: [ValidationError]) -> [String] {
  errors.map { "\($0.field ?? "-") \($0.keyword)\($0.limit.map { " " + $0 } ?? "")" }
}

/// What a save tells; nil when it does not fail, and a failed test when it fails otherwise.
func refused(_ work: () throws -> Void) -> [String]? {
  do {
    try work()
    return nil
  } catch let error as LarchError where error.code == .invalid {
    return told(error.validationErrors)
  } catch {
    Issue.record("not refused as invalid: \(error)")
    return nil
  }
}

/// The code of the error of a piece of work, or nil when there was none.
func code(_ work: () throws -> Void) -> LarchError.Code? {
  do {
    try work()
    return nil
  } catch {
    return (error as? LarchError)?.code
  }
}

extension Store {
  /// A store for the time of `body`, whose file is gone after it.
  static func scratch<T>(_ types: any Record.Type..., body: (Store) throws -> T) throws -> T {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var options = Options()
    options.durability = .none
    let store = try Store(path: path, types: types, options: options, isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  /// Whether the file is sound: every entry of every index, every unique key.
  func expectSound(_ location: SourceLocation = #_sourceLocation) throws {
    let report = try verify()
    #expect(report.isClean, "\(report)", sourceLocation: location)
  }
}
