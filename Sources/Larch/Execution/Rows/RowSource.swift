/// A sequence of rows: the result of a part of a plan.
class RowSource {
  /// The id of the row, valid until the next row.
  @exclusivity(unchecked) final var id = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The record of the row, verified, if it was read.
  @exclusivity(unchecked) final var record: UnsafeRawBufferPointer?
  /// The stored bytes of the record, if the scan read them.
  @exclusivity(unchecked) final var stored: UnsafeRawBufferPointer?
  /// The key of the index by which the row was found, if it is known.
  @exclusivity(unchecked) final var key: UnsafeRawBufferPointer?

  /// Moves to the next row; false after the last one.
  func next() throws -> Bool { false }

  /// Closes the cursors. There are no rows after that.
  func close() {}


  /// The number of entries that may be read before `CostLimitReached` is thrown. After that the rows
  /// can be continued.
  func allow(entries: Int) {}
