import Foundation
public import Larch

/// A plan differs from what a test expects.
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
  /// Checks the plan of a query, and how much it reads.
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
  /// The text is that of `explain(_:running:)` with `running`. With `running: false` the query does
  /// not run, and the text has no last line.
  ///
  /// - Throws: ``PlanDifference`` if it differs; the errors of the query.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    of query: Query<R>, _ expected: String, running: Bool = true
  ) throws {
    try PlanDifference.check(expected, try explain(query, running: running))
  }

  /// Checks the plan for counting a query, and how much it reads.
  ///
  /// - Throws: ``PlanDifference`` if it differs; the errors of the query.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    counting query: Query<R>, _ expected: String, running: Bool = true
  ) throws {
    try PlanDifference.check(expected, try explain(query, counting: true, running: running))
  }

  /// Checks that the plan of a query, and how much it reads, are as in a file from an earlier run.
  ///
  /// ```swift
  /// try store.expectPlan(of: query, matches: "open-issues.plan")
  /// ```
  ///
  /// The file is in the folder `Snapshots` beside the test. With the environment variable
  /// `LARCH_RECORD_PLANS=1` it is written instead of compared: review the changes before you commit
  /// them.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - name: the name of the file, in `Snapshots` beside `file` unless it begins with `/`.
  ///   - running: whether to run the query and also compare how much it reads.
  ///   - file: the test file for the failure.
  ///   - line: its line.
  /// - Throws: ``PlanDifference`` if it differs, or if the file is missing or is not text; the
  ///   errors of the query; the error of the file system if it cannot be written.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    of query: Query<R>, matches name: String, running: Bool = true, file: String = #filePath,
    line: Int = #line
  ) throws {
    try PlanDifference.check(
      name, try explain(query, running: running), isRecording: nil, file, line)
  }

  /// Checks that the plan for counting a query is as in a file from an earlier run; otherwise like
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
  /// A new store that also runs every query as a full scan, in the same snapshot: if the answers
  /// differ, it throws `.wrongAnswer` with both plans.
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
