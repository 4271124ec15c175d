import LarchTestSupport
import Testing

@testable import Larch

/// The text of an error, for comparison: `name cant_be_blank`, `age too_large 150`.
func told(_ errors: [ValidationError]) -> [String] {
  errors.map { "\($0.field ?? "-") \($0.keyword)\($0.limit.map { " " + $0 } ?? "")" }
}

/// The validation errors of a save; nil if it does not fail. Any other error fails the test.
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
  /// Whether the file is valid: every entry of every index, every unique key.
  func expectSound(_ location: SourceLocation = #_sourceLocation) throws {
    let report = try verify()
    #expect(report.isClean, "\(report)", sourceLocation: location)
  }
}
