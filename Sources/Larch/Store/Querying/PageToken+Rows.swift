extension PageToken {
  /// The position of a row whose order fields were selected.
  init<R: Record>(
    _ query: QueryDescription, at row: QueryRow, of run: PlanRun, _ access: RecordAccess<R>
  ) throws {
    order = PageToken.order(of: query, in: access.collection.stored.name)
    values = []
    id = [UInt8](row.id)
    for (place, term) in query.order.enumerated() {
      if let known = try run.values(of: place) {
        values.append(known)
      } else {
        values.append(try access.orderValue(of: term.field, in: try run.record(), id: row.id))
      }
    }
  }

  /// Whether it is a position in the results of the query: a token may come from anywhere.
  func fits(_ query: QueryDescription, in collection: CollectionHandle) -> Bool {
    guard order == PageToken.order(of: query, in: collection.stored.name),
      values.count == query.order.count, collection.stored.idKind.accepts(id)
    else { return false }
    var writer = KeyWriter()
    return zip(values, query.order).allSatisfy { list, term in
      writer.clear()
      return writer.append(list, as: term.field.form)
    }
  }
}

extension RecordIDKind {
  /// Whether the bytes can be an id of this kind.
  fileprivate func accepts(_ id: [UInt8]) -> Bool {
    if let width { return id.count == width }
    return id.count >= 1 && id.count <= KeyWriter.keyLimit + 1 && id[0] == 1
  }
}
