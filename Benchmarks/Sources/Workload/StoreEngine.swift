/// A store that a benchmark runs on: what the harness itself asks of it.
public protocol StoreEngine: AnyObject {
  /// The name of the column.
  static var peer: String { get }

  /// Opens the store at the path, creating it with its indexes where there is none.
  init(path: String) throws
  /// Closes it.
  func close()
  /// Brings the files to their resting size, before it is measured.
  func settle() throws
  /// Every record, materialised one after the other.
  func scan() throws -> QueryResult
  /// Everything that the store holds, to the last byte, in one number.
  func fingerprint() throws -> QueryResult
}

extension StoreEngine {
  /// Nothing, for stores whose files are always at rest.
  public func settle() throws {}
}

/// A store of one shape of records.
package protocol ShapeStore<Step>: StoreEngine {
  /// What is asked of it, with all its values.
  associatedtype Step

  /// Makes the peer's own form of the values, untimed. What this returns is timed.
  func prepare(_ step: Step) throws -> () throws -> QueryResult
}
