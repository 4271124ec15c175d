/// A type whose values may be written and read straight from memory, field by field.
///
/// One line opts a struct in, and its records are then coded several times faster, to the same
/// bytes:
///
/// ```swift
/// extension Person: MemberwiseCoded {}
/// ```
///
/// By opting in you promise that the type's `Codable` is the one the compiler synthesises, or does
/// exactly the same: every stored property is written under its coding key as it is, and reading
/// does nothing but put what was written back in place. A hand-written `encode(to:)` that changes,
/// adds or leaves out a value, or an `init(from:)` that corrects or checks one, breaks the promise.
/// Custom names in `CodingKeys` keep it. Structs nested in the type opt in by a line of their own.
///
/// Nothing else changes: what Larch cannot code so (classes, enums with associated values,
/// dictionaries, sets, property wrappers, keys left out of `CodingKeys`) goes through `Codable`,
/// for the whole type. In debug builds every record is coded both ways, and a difference stops the
/// program; in release builds the first record of the type decides, and after a difference the
/// type is coded through `Codable`.
public protocol MemberwiseCoded: Codable {}

/// A struct with one stored property that is coded as just that value, by a single-value container.
protocol SingleFieldCoded: Codable {}

/// One whose property is an `Int64`, so that its memory is what it is coded as.
protocol Int64Coded: SingleFieldCoded {}
