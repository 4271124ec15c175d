/// A type whose values may be written and read straight from memory, field by field.
///
/// One line opts a struct in. Its records are then coded several times faster, with the same bytes:
///
/// ```swift
/// extension Person: MemberwiseCoded {}
/// ```
///
/// The build plugin `LarchMemberwise` writes this line for each struct of a target whose `Codable` is
/// the compiler's.
///
/// By opting in you promise that the type's `Codable` is synthesised by the compiler, or does
/// exactly the same: it writes every stored property unchanged under its coding key, and reading
/// only restores these values. A hand-written `encode(to:)` that changes, adds or omits a value, or
/// an `init(from:)` that corrects or checks one, breaks the promise. Custom names in `CodingKeys`
/// are allowed. Nested structs, and those in arrays and dictionaries, opt in with their own line.
///
/// Nothing else changes. A field of a type that has no such form (an enum without a raw value, a set, a
/// dictionary without `String` keys, a struct that did not opt in) is read through its own `Codable`, and a
/// record with one is written through `Codable`. If the type itself cannot be coded in this way (a class, a
/// property wrapper, a key omitted from `CodingKeys`), all of it is coded through `Codable`. In debug builds
/// the records that are written, and a sample of those that are read, are coded both ways, and a difference
/// stops the program. In release builds the first record of the type decides, and after a difference the type
/// is coded through `Codable`.
public protocol MemberwiseCoded: Codable {}

/// A struct with one stored property that is coded as that value alone, in a single-value
/// container.
protocol SingleFieldCoded: Codable {}

/// One whose property is an `Int64`, so that its memory has its encoded bytes.
protocol Int64Coded: SingleFieldCoded {}
