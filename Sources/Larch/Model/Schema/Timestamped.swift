public import Foundation

/// A record with the times of its insertion and of its last change.
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
/// Both are nil until the first save. An insert sets them, unless the program has set them, for
/// example in an import. An update keeps the stored `createdAt` if the record has nil there. It
/// sets `updatedAt` if anything else changed, whatever the record has there. All records of a
/// transaction get the same time: ``WriteTransaction/now``, which comes from
/// ``Store/Options/clock``. Both are nil in records that are older than these properties.
public protocol Timestamped: Record {
  /// When the record was inserted; nil before that.
  var createdAt: Date? { get set }
  /// When the record was last changed; nil until it is inserted.
  var updatedAt: Date? { get set }
}
