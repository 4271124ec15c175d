/// What a query or a run of look-ups gave back.
public struct QueryResult: Equatable, Sendable {
  /// How many records, or groups.
  public var rows: UInt64
  /// The sum over them, whatever their order.
  public var checksum: UInt64

  /// A result.
  public init(rows: UInt64, checksum: UInt64) {
    self.rows = rows
    self.checksum = checksum
  }
}

/// Something that makes the run's figures worthless.
public struct BenchmarkError: Error, CustomStringConvertible {
  /// What is wrong.
  public var description: String

  /// An error with its text.
  public init(_ description: String) {
    self.description = description
  }
}
