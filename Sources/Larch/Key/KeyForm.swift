/// The form of the bytes of an index key, in terms of standard types.
///
/// The catalog of a store has it as text such as `string,int64?`, so that keys can be read without
/// their Swift types. You never need one.
public struct KeyForm: Hashable, Sendable {
  /// A standard type. The raw values are part of the file format.
  package enum Primitive: String, CaseIterable, Sendable {
    case bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float, double
    case date, string, data, uuid, url, decimal
  }

  package enum Node: Hashable, Sendable {
    case primitive(Primitive)
    // Only this case needs memory of its own; planning makes and compares many forms.
    indirect case optional(KeyForm)
    /// Two or more parts, none of them a composite itself: nesting would not change the bytes.
    case composite([KeyForm])
  }

  package let node: Node

  private init(node: Node) { self.node = node }

  package static func primitive(_ primitive: Primitive) -> KeyForm {
    KeyForm(node: .primitive(primitive))
  }

  package static func optional(_ wrapped: KeyForm) -> KeyForm { KeyForm(node: .optional(wrapped)) }

  /// The form of values one after the other.
  static func composite(_ parts: [KeyForm]) -> KeyForm {
    let flat = parts.flatMap(\.parts)
    return flat.count == 1 ? flat[0] : KeyForm(node: .composite(flat))
  }

  /// The parts of a composite, or the form itself.
  var parts: [KeyForm] {
    if case .composite(let parts) = node { return parts }
    return [self]
  }

  package var isOptional: Bool {
    if case .optional = node { return true }
    return false
  }

  /// The form without its optionals.
  package var unwrapped: KeyForm {
    if case .optional(let wrapped) = node { return wrapped.unwrapped }
    return self
  }

  /// Whether the first value may be a nil. A value of an optional around it begins with `KeyValue.present`, or it would
  /// be taken for the nil of that optional.
  var mayBeginWithNil: Bool {
    switch node {
    case .primitive: false
    case .optional: true
    case .composite(let parts): parts[0].mayBeginWithNil
    }
  }

  /// The values without the marks of the optionals around them.
  func withoutMarks(_ values: [KeyValue]) -> [KeyValue] {
    var rest = values[...]
    var form = self
    while case .optional(let wrapped) = form.node {
      if case .null? = rest.first { break }
      if wrapped.mayBeginWithNil { rest = rest.dropFirst() }
      form = wrapped
    }
    return Array(rest)
  }

  /// Whether nil can be written in several ways.
  var hasNestedOptionals: Bool {
    switch node {
    case .primitive: false
    case .optional(let wrapped): wrapped.isOptional || wrapped.hasNestedOptionals
    case .composite(let parts): parts.contains { $0.hasNestedOptionals }
    }
  }
}

extension KeyForm {
  /// A standard type or an optional one; nil for the rare forms of several values.
  var simple: (primitive: Primitive, isOptional: Bool)? {
    switch node {
    case .primitive(let primitive): return (primitive, false)
    case .optional(let wrapped):
      guard case .primitive(let primitive) = wrapped.node else { return nil }
      return (primitive, true)
    case .composite: return nil
    }
  }
}

extension KeyForm: CustomStringConvertible {
  /// The text in the catalog.
  public var description: String { parts.map(\.partText).joined(separator: ",") }

  private var partText: String {
    switch node {
    case .primitive(let primitive): primitive.rawValue
    case .optional(let wrapped): wrapped.partText + "?"
    case .composite: "(" + description + ")"
    }
  }

  /// Reads the output of `description`; nil if the text is not a form.
  init?(_ text: String) {
    var rest = Substring(text)
    guard let form = KeyForm.parseParts(&rest, depth: 0), rest.isEmpty else { return nil }
    self = form
  }

  /// No program makes deeper forms; the limit prevents damaged text from using up the stack.
  private static let depthLimit = 16

  private static func parseParts(_ text: inout Substring, depth: Int) -> KeyForm? {
    var parts: [KeyForm] = []
    while true {
      guard let part = parsePart(&text, depth: depth) else { return nil }
      parts.append(part)
      guard text.first == "," else { return .composite(parts) }
      text.removeFirst()
    }
  }

  private static func parsePart(_ text: inout Substring, depth: Int) -> KeyForm? {
    var form: KeyForm
    if text.first == "(" {
      guard depth < depthLimit else { return nil }
      text.removeFirst()
      guard let inner = parseParts(&text, depth: depth + 1), text.first == ")" else { return nil }
      text.removeFirst()
      form = inner
    } else {
      let name = text.prefix { $0.isLetter || $0.isNumber }
      guard let primitive = Primitive(rawValue: String(name)) else { return nil }
      text.removeFirst(name.count)
      form = .primitive(primitive)
    }
    var optionals = 0
    while text.first == "?" {
      guard optionals < depthLimit else { return nil }
      optionals += 1
      text.removeFirst()
      form = .optional(form)
    }
    return form
  }
}
