import Foundation
public import Larch

/// A plan is not the one that a test expects.
public struct PlanDifference: Error, Sendable, CustomStringConvertible {
  /// The lines that differ: `-` expected, `+` found.
  public let description: String

  fileprivate static func check(
    _ name: String, _ found: String, isRecording: Bool?, _ file: String, _ line: Int
  ) throws {
    let snapshot = Snapshot(name, beside: file, recordedBy: "LARCH_RECORD_PLANS")
    if isRecording ?? snapshot.isToBeRecorded { return try snapshot.record(found + "\n") }
    let place = "\(URL(fileURLWithPath: file).lastPathComponent):\(line): "
    switch snapshot.read() {
    case .failure(let reason): throw PlanDifference(description: place + reason.message)
    case .success(let expected):
      guard
        let difference = TextDifference.between(expected: expected, actual: found + "\n")
      else { return }
      throw PlanDifference(
        description: place + "the plan differs from \(name) (-); it is (+);"
          + " LARCH_RECORD_PLANS=1 writes the file\n" + difference)
    }
  }

  fileprivate static func check(_ expected: String, _ found: String) throws {
    guard let difference = TextDifference.between(expected: expected, actual: found) else { return }
    throw PlanDifference(description: "the plan differs\n" + difference)
  }
}

extension RecordReading {
  /// Makes sure that a query is answered as expected, and looks at no more than expected.
  ///
  /// ```swift
  /// try store.expectPlan(
  ///   of: Person.where { $0.city == "London" }.sorted(by: \.age).limit(2),
  ///   """
  ///   index city_age ["London"]
  ///     order served by the index
  ///     limit 2
  ///   examined 2 index entries, 2 records; returned 2
  ///   """)
  /// ```
  ///
  /// The text is that of `explain(_:running:)` with `running`; leave the last
  /// line out by `running: false`, which also leaves the query unrun.
  ///
  /// - Throws: ``PlanDifference`` where it differs; what the query throws.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    of query: Query<R>, _ expected: String, running: Bool = true
  ) throws {
    try PlanDifference.check(expected, try explain(query, running: running))
  }

  /// Makes sure that a query is counted as expected, and looks at no more than expected.
  ///
  /// - Throws: ``PlanDifference`` where it differs; what the query throws.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    counting query: Query<R>, _ expected: String, running: Bool = true
  ) throws {
    try PlanDifference.check(expected, try explain(query, counting: true, running: running))
  }

  /// Makes sure that a query is answered as a file says that a run before has written, and looks at
  /// no more.
  ///
  /// ```swift
  /// try store.expectPlan(of: query, matches: "open-issues.plan")
  /// ```
  ///
  /// The file lies in the folder `Snapshots` beside the test. With the environment variable
  /// `LARCH_RECORD_PLANS=1` it is written instead of compared: look at what changed before you
  /// commit it.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - name: the name of the file, in `Snapshots` beside `file` unless it begins with `/`.
  ///   - running: whether the query is run, and what it looks at is compared too.
  ///   - file: the test that is shown in the failure.
  ///   - line: its line.
  /// - Throws: ``PlanDifference`` where it differs, or where the file is not there or is no text;
  ///   what the query throws; the error of the file system where it cannot be written.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    of query: Query<R>, matches name: String, running: Bool = true, file: String = #filePath,
    line: Int = #line
  ) throws {
    try PlanDifference.check(
      name, try explain(query, running: running), isRecording: nil, file, line)
  }

  /// Makes sure that a query is counted as a file says that a run before has written; else as
  /// ``expectPlan(of:matches:running:file:line:)``.
  ///
  /// - Throws: the errors of ``expectPlan(of:matches:running:file:line:)``.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    counting query: Query<R>, matches name: String, running: Bool = true,
    file: String = #filePath, line: Int = #line
  ) throws {
    try PlanDifference.check(
      name, try explain(query, counting: true, running: running), isRecording: nil, file, line)
  }

  package func expectPlan<R: Record>(
    of query: Query<R>, matches name: String, isRecording: Bool, file: String, line: Int
  ) throws {
    try PlanDifference.check(
      name, try explain(query, running: true), isRecording: isRecording, file, line)
  }
}

extension Store {
  /// A fresh store that also answers every query by a full scan, in the same snapshot: where the
  /// answers differ, it throws `.wrongAnswer` with both plans.
  ///
  /// - Throws: the errors of `Store.temporary(for:migrations:options:)`.
  public static func checked(
    for types: any Record.Type..., options: Options = Options()
  ) throws -> Store {
    var options = options
    options.checksQueries = true
    return try temporary(types: types, options: options)
  }
}
