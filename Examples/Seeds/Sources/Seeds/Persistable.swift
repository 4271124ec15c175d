import Foundation
import Larch

/// The Persistable pattern: an object knows whether it is new, changed or deleted, and `persist`
/// does what that needs.
enum PersistableSeed {
  struct Contact: Record {
    var id = RecordID<Contact>()
    var name: String
    var phone: String?

    static let schema = Schema<Contact> { Index(\.name) }
  }

  static func run() throws {
    let store = try Store.temporary(for: Contact.self)
    defer { store.close() }
    try Store.with(store) { try runInStore() }
  }

  private static func runInStore() throws {
    // contact = [[Contact alloc] init]; contact.isNew
    var contact = try Contact(name: "Ada").tracked()
    Check.equal(contact.state, .new, "a contact in memory is new")

    // [contact persist]
    try contact.persist()
    Check.equal(contact.state, .unchanged, "persisted")

    // contact.phone = …; contact.isDirty; [contact persist]
    contact.phone = "1815"
    Check.equal(contact.state, .changed, "changed")
    Check.equal(try contact.changes().map(\.description), ["phone: nil -> \"1815\""], "its change")
    try contact.persist()

    // [contact revert]
    contact.name = "Eva"
    contact.revert()
    Check.equal(contact.name, "Ada", "reverted")

    // [Contact findByPrimaryKey:], [Contact findAll], [Contact findByName:]
    let id = contact.id
    Check.equal(try Contact.find(id)?.phone, "1815", "found by its key")
    Check.equal(try Contact.all.fetch().map(\.name), ["Ada"], "all")
    Check.equal(try Contact.find(by: \.name, equals: "Ada")?.id, id, "found by a field")

    // [contact insert], [contact update], [contact delete]
    var bo = Contact(name: "Bo")
    try bo.insert()
    bo.phone = "4"
    try bo.update()
    Check.equal(try bo.state(), .unchanged, "updated")
    try bo.delete()
    Check.equal(try bo.state(), .deleted, "deleted")

    // contact.markedForDeletion = YES; [contact persist]
    contact.markDeleted()
    try contact.persist()
    Check.equal(try Contact.all.count(), 0, "persist deletes what is marked")
  }
}
