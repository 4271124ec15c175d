extension ExecutionCounters {
  /// The last line of an `explain` that ran the query.
  package var text: String {
    var text = "examined \(examinedText); returned \(rowsReturned)"
    if spilledBytes > 0 { text += "; sorted through a file of \(spilledBytes) bytes" }
    return text
  }

  /// The counts of what was read.
  var examinedText: String {
    "\(counted(entriesExamined, "index entry", "index entries")), "
      + counted(recordsExamined, "record", "records")
  }

  private func counted(_ number: Int, _ one: String, _ many: String) -> String {
    "\(number) \(number == 1 ? one : many)"
  }
}
