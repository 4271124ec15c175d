/// The records of a query, each with its related records of one or several associations.
///
/// ```swift
/// for (company, people) in try store.fetch(Company.all.with(Company.people)) {
///   print(company.name, people.count)
/// }
/// for (person, company, tags) in try store.fetch(Person.all.with(Person.company).with(Person.tags)) {
///   print(person.name, company?.name ?? "-", tags.map(\.name))
/// }
/// ```
///
/// A row is a tuple of the record and, for each association in the order in which they were added, an
/// array or an optional. The related records may have related ones of their own, to any depth:
///
/// ```swift
/// let staff = Person.where { $0.age >= 18 }.with(Person.address)
/// for (company, people) in try store.fetch(Company.all.with(Company.people, from: staff)) {
///   for (person, address) in people { print(company.name, person.name, address?.city ?? "-") }
/// }
/// ```
///
/// Created by `Query.with(_:from:)`. Everything is read in one pass over one snapshot. The related
/// records come in the order of their ids, or in the order of the list if the record itself has a
/// list of ids. Missing records are skipped. Through join records, each comes once.
public struct WithRelated<Owner: Record, Row>: Sendable {
  var query: Query<Owner>
  let form: RelatedRowForm<Owner, Row>
}

extension Query {
  /// The records, each with its related records of an association, as pairs of a record and an
  /// array.
  ///
  /// - Parameters:
  ///   - association: a declared association of the type.
  ///   - targets: refines the related records: its condition, order, limit and offset apply to
  ///     those of each record. It must not have a page token.
  public func with<A: ToManyAssociation>(
    _ association: A, from targets: Query<A.Target> = A.Target.all
  ) -> WithRelated<R, (R, [A.Target])> where A.Owner == R {
    WithRelated(query: self, form: RelatedRowForm([.many(association, targets)], [A.Target].self))
  }

  /// The records, each with its related record of an association, or nil.
  ///
  /// ```swift
  /// for (person, company) in try store.fetch(Person.all.with(Person.company)) {
  ///   print(person.name, company?.name ?? "-")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - association: a declared association of the type.
  ///   - targets: refines the related records: a record that is not in this query becomes nil.
  public func with<A: ToOneAssociation>(
    _ association: A, from targets: Query<A.Target> = A.Target.all
  ) -> WithRelated<R, (R, A.Target?)> where A.Owner == R {
    WithRelated(query: self, form: RelatedRowForm([.one(association, targets)], A.Target?.self))
  }

  /// The records, each with the related records of an association, which have related ones
  /// themselves.
  ///
  /// ```swift
  /// let posts = Post.all.sorted(by: \.date, .descending).limit(3).with(Post.comments)
  /// for (blog, posts) in try store.fetch(Blog.all.with(Blog.posts, from: posts)) {
  ///   for (post, comments) in posts { print(blog.name, post.title, comments.count) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - association: a declared association of the type.
  ///   - targets: refines the related records, as a query does, and says which records come with each.
  public func with<A: ToManyAssociation, Element>(
    _ association: A, from targets: WithRelated<A.Target, Element>
  ) -> WithRelated<R, (R, [Element])> where A.Owner == R {
    WithRelated(query: self, form: RelatedRowForm([.many(association, targets)], [Element].self))
  }

  /// The records, each with its related record of an association, or nil; it has related records
  /// itself.
  ///
  /// - Parameters:
  ///   - association: a declared association of the type.
  ///   - targets: refines the related records, as a query does, and says which records come with each.
  public func with<A: ToOneAssociation, Element>(
    _ association: A, from targets: WithRelated<A.Target, Element>
  ) -> WithRelated<R, (R, Element?)> where A.Owner == R {
    WithRelated(query: self, form: RelatedRowForm([.one(association, targets)], Element?.self))
  }
}

extension WithRelated {
  /// Adds the related records of one more association to each row, as an array.
  ///
  /// ```swift
  /// for (post, author, tags) in try store.fetch(Post.all.with(Post.author).with(Post.tags)) {
  ///   print(post.text, author?.name ?? "-", tags.count)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - association: a declared association of the type of the query.
  ///   - targets: refines the related records, as those of the first association.
  public func with<A: ToManyAssociation, each Part>(
    _ association: A, from targets: Query<A.Target> = A.Target.all
  ) -> WithRelated<Owner, (Owner, repeat each Part, [A.Target])>
  where A.Owner == Owner, Row == (Owner, repeat each Part) {
    WithRelated<Owner, (Owner, repeat each Part, [A.Target])>(
      query: query,
      form: RelatedRowForm(
        form.parts + [.many(association, targets)], repeat (each Part).self, [A.Target].self))
  }

  /// Adds the related record of one more association to each row, or nil.
  ///
  /// - Parameters:
  ///   - association: a declared association of the type of the query.
  ///   - targets: refines the related records: a record that is not in this query becomes nil.
  public func with<A: ToOneAssociation, each Part>(
    _ association: A, from targets: Query<A.Target> = A.Target.all
  ) -> WithRelated<Owner, (Owner, repeat each Part, A.Target?)>
  where A.Owner == Owner, Row == (Owner, repeat each Part) {
    WithRelated<Owner, (Owner, repeat each Part, A.Target?)>(
      query: query,
      form: RelatedRowForm(
        form.parts + [.one(association, targets)], repeat (each Part).self, A.Target?.self))
  }

  /// Adds the related records of one more association, which have related ones themselves.
  ///
  /// - Parameters:
  ///   - association: a declared association of the type of the query.
  ///   - targets: refines the related records, as a query does, and says which records come with each.
  public func with<A: ToManyAssociation, each Part, Element>(
    _ association: A, from targets: WithRelated<A.Target, Element>
  ) -> WithRelated<Owner, (Owner, repeat each Part, [Element])>
  where A.Owner == Owner, Row == (Owner, repeat each Part) {
    WithRelated<Owner, (Owner, repeat each Part, [Element])>(
      query: query,
      form: RelatedRowForm(
        form.parts + [.many(association, targets)], repeat (each Part).self, [Element].self))
  }

  /// Adds the related record of one more association, or nil; it has related records itself.
  ///
  /// - Parameters:
  ///   - association: a declared association of the type of the query.
  ///   - targets: refines the related records, as a query does, and says which records come with each.
  public func with<A: ToOneAssociation, each Part, Element>(
    _ association: A, from targets: WithRelated<A.Target, Element>
  ) -> WithRelated<Owner, (Owner, repeat each Part, Element?)>
  where A.Owner == Owner, Row == (Owner, repeat each Part) {
    WithRelated<Owner, (Owner, repeat each Part, Element?)>(
      query: query,
      form: RelatedRowForm(
        form.parts + [.one(association, targets)], repeat (each Part).self, Element?.self))
  }
}
