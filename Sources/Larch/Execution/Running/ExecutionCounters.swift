/// What a query cost.
package struct ExecutionCounters: Sendable, Equatable {
  /// Entries of indexes that were looked at. A key that is refused, or counted, as a whole is one.
  var entriesExamined = 0
  /// Records that were read, also those that were read for a condition only.
  var recordsExamined = 0
  var rowsReturned = 0
  /// Bytes of sorted rows that went through a temporary file.
  var spilledBytes = 0
}
