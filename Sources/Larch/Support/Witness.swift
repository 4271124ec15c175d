/// How Larch works with the values of a type: as a key, as a reference, by their length.
///
/// A protocol with a requirement of this type is met by Larch for the types that it knows. You
/// never make one and never look into one.
// A class of the library's own for each protocol is below it. `@unchecked`, since a class with
// subclasses cannot be checked: all they hold are constants.
@_documentation(visibility: private)
public class _Witness: @unchecked Sendable {
  init() {}

  /// The witness as the class that a protocol's requirement has. The check costs little beside what
  /// it guards: witnesses are asked for once for each declaration, not for each value.
  final func typed<Kind: _Witness>(_ kind: Kind.Type = Kind.self) -> Kind {
    guard let typed = self as? Kind else {
      // A requirement that only Larch can meet was met by the program, with that of another type.
      preconditionFailure("\(Self.self) stands where \(Kind.self) has to.")
    }
    return typed
  }
}
