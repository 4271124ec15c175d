extension ExecutionCounters {
  /// The last line of an `explain` that ran the query.
  var text: String {
    var text =
      "examined \(counted(entriesExamined, "index entry", "index entries")), "
      + "\(counted(recordsExamined, "record", "records")); returned \(rowsReturned)"
    if spilledBytes > 0 { text += "; sorted through a file of \(spilledBytes) bytes" }
    return text
  }

  private func counted(_ number: Int, _ one: String, _ many: String) -> String {
    "\(number) \(number == 1 ? one : many)"
  }
}
