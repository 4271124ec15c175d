/// A type whose own `Codable` always codes its records.
///
/// The build plugin `LarchMemberwise` leaves such a type alone. A store with
/// ``Store/Options/provesCoding`` does not examine it, and its `init(from:)` is never called with
/// values that are not in the store.
///
/// Declare it for a type whose `init(from:)` or `encode(to:)` looks like the compiler's and does
/// more, such as one that counts its calls, or that corrects one particular value:
///
/// ```swift
/// extension Plan: CustomCoded {}
/// ```
///
/// A record that contains such a type is coded through `Codable` too.
public protocol CustomCoded: Codable {}
