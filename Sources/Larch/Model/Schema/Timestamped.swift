public import Foundation

/// A record that knows when it was inserted and when it was changed last.
///
/// Conform the type and declare the two properties; the store fills them in.
///
/// ```swift
/// struct Note: Record, Timestamped {
///   var id = RecordID<Note>()
///   var text: String
///   var createdAt: Date?
///   var updatedAt: Date?
/// }
/// ```
///
/// Both are nil until the first save. An insert sets them, unless the program did, as an import
/// does. An update keeps the stored `createdAt` where the record brings nil, and sets `updatedAt`
/// where anything else changed; what a copy of the record says there does not matter. All records
/// of a transaction get the same time: ``WriteTransaction/now``, which ``Store/Options/clock`` tells.
/// Records from before their type had these properties have nil there.
public protocol Timestamped: Record {
  /// When the record was inserted; nil until then.
  var createdAt: Date? { get set }
  /// When the record was changed last; nil until it is inserted.
  var updatedAt: Date? { get set }
}
