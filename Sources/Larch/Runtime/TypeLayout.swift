/// The stored properties of a struct or final class: names, places and types.
///
/// It exists only if it covers the type's memory: fields in ascending order that do not overlap,
/// inside the type's size, with gaps no wider than alignment needs. Types whose metadata is
/// incomplete (built without it, raw storage, `weak` references) have no layout.
struct TypeLayout: Sendable {
  let type: Any.Type
  let fields: [Reflection.Field]

  /// The layout of a struct; nil for other types, or if it is not known.
  init?(ofStruct type: Any.Type) {
    guard Reflection.Kind(of: type) == .structure, let fields = Reflection.fields(of: type) else {
      return nil
    }
    let whole = Memory(of: type)
    var end = 0
    for field in fields {
      let memory = Memory(of: field.type)
      guard field.isStrong else { return nil }
      // Values without memory can be anywhere: the runtime says 0.
      guard memory.size > 0 else { continue }
      let aligned = (end &+ memory.alignment &- 1) / memory.alignment &* memory.alignment
      guard field.offset == aligned else { return nil }
      end = field.offset &+ memory.size
    }
    guard end == whole.size else { return nil }
    self.type = type
    self.fields = fields
  }

  /// The layout of a class without a superclass; nil for other types, or if it is not known.
  init?(ofClass type: Any.Type) {
    guard let object = type as? AnyObject.Type, _getSuperclass(object) == nil,
      let fields = Reflection.fields(of: type), fields.allSatisfy(\.isStrong)
    else { return nil }
    self.type = type
    self.fields = fields
  }

  /// The layout of either.
  init?(of type: Any.Type) {
    switch Reflection.Kind(of: type) {
    case .structure: self.init(ofStruct: type)
    case .finalOrOpenClass: self.init(ofClass: type)
    default: return nil
    }
  }

  /// The field with this name; also nil if two fields share it.
  func field(named name: String) -> Reflection.Field? {
    var found: Reflection.Field?
    for field in fields where field.name == name {
      if found != nil { return nil }
      found = field
    }
    return found
  }

  /// The names on the path to the value of type `leaf` at `offset`, through nested structs; nil
  /// unless exactly one stored property is there.
  func path(toOffset offset: Int, leaf: Any.Type) -> [Reflection.Field]? {
    // Values without memory share their offset with a neighbour.
    guard Memory(of: leaf).size > 0 else { return nil }
    for field in fields {
      let size = Memory(of: field.type).size
      guard offset >= field.offset, offset < field.offset &+ size else { continue }
      if field.offset == offset, field.type == leaf { return [field] }
      guard let inner = TypeLayout(ofStruct: field.type),
        let rest = inner.path(toOffset: offset &- field.offset, leaf: leaf)
      else { return nil }
      return [field] + rest
    }
    return nil
  }
}

extension TypeLayout {
  /// Size and alignment of a type that is known only at run time.
  struct Memory {
    let size: Int
    let alignment: Int

    init(of type: Any.Type) {
      func open<Value>(_: Value.Type) -> (Int, Int) {
        (MemoryLayout<Value>.size, MemoryLayout<Value>.alignment)
      }
      (size, alignment) = _openExistential(type, do: open)
    }
  }
}
