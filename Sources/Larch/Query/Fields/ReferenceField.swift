extension TypedReference {
  /// The property as a field of filters and joins. It has the same identity and form as that of a
  /// key path in a filter, so that its index is found.
  var field: TypedField<Holder> {
    ReferenceFields.field(keyPath) {
      let resolution = resolve()
      let forEachID = forEachValue
      let isNilKey = isOptional && !isList
      return TypedField(
        form: form, isMultiple: isList, isStandard: isStandard, name: resolution.fieldName,
        identity: FieldIdentity(keyPath, resolution),
        forEachValue: { record, body in
          var hasID = false
          forEachID(record) { values in
            hasID = true
            return body(values)
          }
          if isNilKey, !hasID { _ = body(KeyValues([.null])) }
        })
    }
  }
}

extension FieldNaming.Resolution {
  /// The name of a reference in plans.
  fileprivate var fieldName: String {
    switch self {
    case .stored(_, let names): names.joined(separator: ".")
    case .computed(let name): name ?? "<a reference>"
    }
  }
}

/// The fields of all references of the process: one object for each, however often a program
/// declares or names it.
private enum ReferenceFields {
  private struct Entries: @unchecked Sendable {
    // Key paths are immutable; only their equality is used.
    var fields: [AnyKeyPath: FieldReference] = [:]
  }

  /// Key paths with run-time arguments must not fill the memory.
  private static let limit = 4096
  private static let entries = Locked(Entries())

  static func field<Holder>(
    _ keyPath: AnyKeyPath, _ make: () -> TypedField<Holder>
  ) -> TypedField<Holder> {
    if let known = entries.withLock({ $0.fields[keyPath] }) {
      // The root of the key path is the holder.
      return unsafeDowncast(known, to: TypedField<Holder>.self)
    }
    let field = make()
    return entries.withLock { entries in
      if let known = entries.fields[keyPath] {
        // See above: equal key paths have one root.
        return unsafeDowncast(known, to: TypedField<Holder>.self)
      }
      if entries.fields.count < limit { entries.fields[keyPath] = field }
      return field
    }
  }
}
