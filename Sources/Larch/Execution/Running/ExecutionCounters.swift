/// The cost of a query.
package struct ExecutionCounters: Sendable, Equatable {
  /// Index entries read. A key that is refused or counted as a whole is one.
  var entriesExamined = 0
  /// Records read, including those read only for a condition.
  var recordsExamined = 0
  var rowsReturned = 0
  /// Searches for the end of a group, beside those for the begin of a scan.
  var groupsSkipped = 0
  /// Bytes of sorted rows that went through a temporary file.
  var spilledBytes = 0
}
