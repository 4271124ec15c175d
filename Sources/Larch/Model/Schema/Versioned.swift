/// Declares a property that counts the saves of a record, so that nobody overwrites changes that
/// they have not seen.
///
/// ```swift
/// struct Page: Record {
///   var id = RecordID<Page>()
///   var text: String
///   var version = 0
///
///   static let schema = Schema<Page> { Versioned(\.version) }
/// }
/// ```
///
/// Each update compares the version of the record with the stored one. If they differ, someone else
/// has saved the record meanwhile, and the update throws `.conflict` and changes nothing: fetch the
/// record again, and repeat the change. An insert sets the first version, and each save that
/// changes something sets a higher one; the program only reads it. A save that changes nothing
/// leaves the version as it is.
///
/// A version is 1 after the first save, and rises by one with most saves. Numbers of a transaction
/// that was undone are skipped. After the highest number of its type, the version starts at 1
/// again. A record that was deleted and is saved again continues with the version that it has.
///
/// Updates by a query, through associations and in migrations count like any other. An import does
/// not compare: it replaces the records that it matches, and sets a higher version. A deletion does
/// not compare. If there are stored records without the property, also declare `Default(\.version,
/// 0)`.
public struct Versioned<R: Record>: Sendable {
  let declaration: VersionDeclaration<R>

  /// Declares the property. It must be stored, and must not be optional.
  public init<Value: FixedWidthInteger & Codable & Sendable>(
    _ field: any WritableKeyPath<R, Value> & Sendable
  ) {
    declaration = VersionDeclaration(
      resolve: { FieldNaming.storedPath(of: field) },
      number: { Int128(truncatingIfNeeded: $0[keyPath: field]) },
      set: { $0[keyPath: field] = Value(truncatingIfNeeded: $1) },
      next: { number in
        let value = Value(truncatingIfNeeded: number)
        return value < 0 || value == .max ? 1 : Int128(truncatingIfNeeded: value + 1)
      })
  }

  /// Not available: a property that cannot count.
  @available(
    *, unavailable,
    message: "a version is a property of the record of an integer type, a `var` and no optional"
  )
  @_disfavoredOverload
  public init(_ field: PartialKeyPath<R>) {
    declaration = VersionDeclaration(
      resolve: { .computed(printableName: nil) }, number: { _ in 0 }, set: { _, _ in }, next: { $0 }
    )
  }
}

/// The version of a record, for any integer type. A number that does not fit the type keeps its
/// bits.
struct VersionDeclaration<R: Record>: Sendable {
  let resolve: @Sendable () -> FieldNaming.Resolution
  let number: @Sendable (R) -> Int128
  let set: @Sendable (inout R, Int128) -> Void
  /// The next number.
  let next: @Sendable (Int128) -> Int128

  /// The next number that is not among these.
  func next(after number: Int128, besides taken: [ClosedRange<Int128>]) -> Int128 {
    var result = next(number)
    // At most one step per range; the numbers of a small type may all be used.
    for _ in taken {
      guard let range = taken.first(where: { $0.contains(result) }) else { break }
      result = next(range.upperBound)
    }
    return result
  }
}
