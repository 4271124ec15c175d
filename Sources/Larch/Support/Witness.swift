/// How Larch works with the values of a type: as a key, as a reference, by their length.
///
/// Larch implements each requirement of this type for the types that it knows. You never make a
/// witness and never use one.
@_documentation(visibility: private)
public class _Witness: @unchecked Sendable {
  // Each protocol has an internal subclass. `@unchecked`, since the compiler cannot check a class
  // with subclasses: all of them have only constants.
  init() {}

  /// The witness as the class that a protocol requires. The check costs a few hundred instructions,
  /// so a caller with many values asks once.
  final func typed<Kind: _Witness>(_ kind: Kind.Type = Kind.self) -> Kind {
    guard let typed = self as? Kind else {
      // The program implemented a requirement that only Larch may implement.
      preconditionFailure("\(Self.self) stands where \(Kind.self) is required.")
    }
    return typed
  }
}
