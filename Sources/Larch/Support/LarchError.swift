/// The error that every operation of Larch throws.
///
/// The code identifies the kind of failure and is stable between releases. The message says what
/// happened and what to do next. The context names the collection, index, field, id or path.
/// It has no contents of records, with three exceptions: the value that causes a unique conflict, a value of an
/// imported text that does not fit, and what the coding of a type says of a value that it refuses.
///
/// ```swift
/// do {
///   try store.write { tx in try tx.save(&person) }
/// } catch let error as LarchError where error.code == .uniqueConflict {
///   print(error.context.index ?? "", error.context.otherID ?? "")
/// }
/// ```
public struct LarchError: Error, Sendable {
  /// The kind of failure. New codes may be added; switch with a default.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable name of the code.
    public let rawValue: String

    /// Creates a code from its stable name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable name of the code.
    public var description: String { rawValue }
  }

  /// The context of a failure: only known values are set.
  public struct Context: Sendable, Hashable {
    /// The collection that the operation was about.
    public var collection: String?
    /// The index that caused the failure.
    public var index: String?
    /// The field that caused the failure.
    public var field: String?
    /// The id of the record that the operation was about.
    public var id: String?
    /// The id of the conflicting record for a unique conflict, or of the missing record for a
    /// dangling reference.
    public var otherID: String?
    /// The place of the record in its batch, from 0.
    public var position: Int?
    /// The path of the store file.
    public var path: String?
    /// The number of the damaged page.
    public var page: UInt64?
    /// A short value that explains the failure, such as an LMDB error name or a coding path.
    public var detail: String?

    /// An empty context.
    public init() {}
  }

  /// The kind of failure.
  public let code: Code
  /// What happened and what to do next, without data.
  public let message: String
  /// What the failure was about.
  public var context: Context
  /// The error that caused this one, if there is one.
  public let underlying: (any Error)?
  /// All rules that a record breaks, for the code `.invalid`; otherwise empty.
  public let validationErrors: [ValidationError]

  /// Creates an error. The message is static text; variable data goes into the context.
  package init(
    _ code: Code, _ message: StaticString, underlying: (any Error)? = nil,
    _ fill: (inout Context) -> Void = { _ in }
  ) {
    self.code = code
    self.message = message.description
    self.underlying = underlying
    validationErrors = []
    var context = Context()
    fill(&context)
    self.context = context
  }

  /// The error of a record that breaks rules of its schema.
  package init(invalid errors: [ValidationError], collection: String, id: String?) {
    code = .invalid
    message = "The record breaks rules of its schema; `validationErrors` lists them all."
    underlying = nil
    validationErrors = errors
    context = Context()
    context.collection = collection
    context.id = id
  }
}

extension LarchError: CustomStringConvertible {
  /// The code, the message and the context on one line.
  public var description: String {
    var parts = context.parts
    if !validationErrors.isEmpty {
      parts.append("broken: " + validationErrors.map(\.description).joined(separator: "; "))
    }
    if let underlying { parts.append("cause: \(underlying)") }
    let context = parts.isEmpty ? "" : " (" + parts.joined(separator: ", ") + ")"
    return "\(code): \(message)\(context)"
  }
}

extension LarchError.Context {
  /// The known values, each with its name.
  var parts: [String] {
    let known: [(name: String, value: String?)] = [
      ("collection", collection), ("index", index), ("field", field), ("id", id),
      ("other id", otherID), ("position", position.map { String($0) }), ("path", path),
      ("page", page.map { String($0) }),
      ("detail", detail),
    ]
    return known.compactMap { part in part.value.map { "\(part.name): \($0)" } }
  }
}

extension LarchError.Code {
  // Files
  /// The file is not a Larch store.
  public static let notAStore = Self(rawValue: "not_a_store")
  /// The file was written by a newer format of Larch or LMDB.
  public static let newerFormat = Self(rawValue: "newer_format")
  /// The file is shorter than its header says.
  public static let truncated = Self(rawValue: "truncated")
  /// The structure of the file, or of a value in it, is damaged.
  public static let corrupted = Self(rawValue: "corrupted")
  /// A stored record does not match its checksum.
  public static let checksumMismatch = Self(rawValue: "checksum_mismatch")
  /// The file or its directory does not exist.
  public static let fileNotFound = Self(rawValue: "file_not_found")
  /// A file exists where a new one was to be created.
  public static let fileExists = Self(rawValue: "file_exists")
  /// The process may not read or write the file.
  public static let accessDenied = Self(rawValue: "access_denied")
  /// The path cannot be used for a store.
  public static let unsuitableFile = Self(rawValue: "unsuitable_file")
  /// The disk is full.
  public static let diskFull = Self(rawValue: "disk_full")
  /// The operating system reported an input or output error.
  public static let ioFailure = Self(rawValue: "io_failure")
  /// The map cannot grow further.
  public static let mapFull = Self(rawValue: "map_full")
  /// A snapshot has ended: by the program, by its age, or because the store required it.
  public static let snapshotEnded = Self(rawValue: "snapshot_ended")
  /// The maximum number of snapshots is open.
  public static let tooManySnapshots = Self(rawValue: "too_many_snapshots")
  /// The operation is blocked by something that is open; try again when it has ended.
  public static let busy = Self(rawValue: "busy")
  /// All reader slots are in use.
  public static let readersFull = Self(rawValue: "readers_full")
  /// LMDB reported a failure that has no code of its own.
  public static let storage = Self(rawValue: "storage")

  // Use
  /// The store was closed.
  public static let closed = Self(rawValue: "closed")
  /// The store was opened read-only.
  public static let readOnly = Self(rawValue: "read_only")
  /// A write was started inside a write of the same store.
  public static let nestedWrite = Self(rawValue: "nested_write")
  /// A transaction was used after its end or on another thread.
  public static let transactionEnded = Self(rawValue: "transaction_ended")
  /// A call named no store, and no default store is set.
  public static let noDefaultStore = Self(rawValue: "no_default_store")
  /// The store was used in a process forked from the one that opened it.
  public static let forked = Self(rawValue: "forked")
  /// The record type was not named when the store was opened.
  public static let unknownCollection = Self(rawValue: "unknown_collection")
  /// A declaration of the schema is not valid.
  public static let invalidSchema = Self(rawValue: "invalid_schema")
  /// The stored schema and the declared one cannot be reconciled.
  public static let schemaMismatch = Self(rawValue: "schema_mismatch")
  /// Another process or store changed the schema of the open file.
  public static let schemaChanged = Self(rawValue: "schema_changed")
  /// A migration threw an error: see ``LarchError/underlying``. It changed nothing.
  public static let migrationFailed = Self(rawValue: "migration_failed")
  /// A migration has not run, and the store is opened in a way that runs none.
  public static let migrationPending = Self(rawValue: "migration_pending")

  // Servers
  /// A library that the operation needs is not installed.
  public static let missingLibrary = Self(rawValue: "missing_library")
  /// The address of a server, or the name of a store there, cannot be used as it is written.
  public static let invalidAddress = Self(rawValue: "invalid_address")
  /// The server has no log of this name.
  public static let logNotFound = Self(rawValue: "log_not_found")
  /// The server cannot be reached now; a later attempt may succeed.
  public static let unavailable = Self(rawValue: "unavailable")
  /// The server did not say whether a write of a shared store has happened; `Store.outcome(of:)` tells
  /// once it is known.
  public static let commitUnknown = Self(rawValue: "commit_unknown")
  /// The server refuses the program: its name, its password, its rights, or its certificate.
  public static let serverRefused = Self(rawValue: "server_refused")
  /// The store and its log on the server do not have the same past.
  public static let diverged = Self(rawValue: "diverged")
  /// The store has commits that only its file has, which its mirror has not shipped.
  public static let notShipped = Self(rawValue: "not_shipped")
  /// The log on the server was written by a newer version of Larch.
  public static let newerLog = Self(rawValue: "newer_log")
  /// The log on the server does not have the commit that is asked for.
  public static let notInLog = Self(rawValue: "not_in_log")
  /// What the server sent is no part of a log, or was altered.
  public static let damagedLog = Self(rawValue: "damaged_log")

  // Records
  /// Another record has the same unique value.
  public static let uniqueConflict = Self(rawValue: "unique_conflict")
  /// A record with this id already exists.
  public static let idExists = Self(rawValue: "id_exists")
  /// No record has this id.
  public static let recordNotFound = Self(rawValue: "record_not_found")
  /// The id is too long to be a key.
  public static let idTooLong = Self(rawValue: "id_too_long")
  /// No save has assigned the id yet.
  public static let idUnassigned = Self(rawValue: "id_unassigned")
  /// The record could not be encoded.
  public static let encodingFailed = Self(rawValue: "encoding_failed")
  /// The stored record could not be decoded as its type.
  public static let decodingFailed = Self(rawValue: "decoding_failed")
  /// The record is larger than a value may be.
  public static let recordTooLarge = Self(rawValue: "record_too_large")
  /// A write changes more than one entry of a mirror's log can hold.
  public static let commitTooLarge = Self(rawValue: "commit_too_large")
  /// The record breaks rules that its schema declares: see ``LarchError/validationErrors``.
  public static let invalid = Self(rawValue: "invalid")
  /// Hooks that save or delete records call each other without end.
  public static let hooksTooDeep = Self(rawValue: "hooks_too_deep")
  /// Someone else saved or deleted the record after it was read.
  public static let conflict = Self(rawValue: "conflict")
  /// A draft was passed to a unit of work that it does not belong to.
  public static let foreignDraft = Self(rawValue: "foreign_draft")
  /// A hook changed the id of the record that was being saved.
  public static let idChanged = Self(rawValue: "id_changed")
  /// The type has no stored field with this name.
  public static let unknownField = Self(rawValue: "unknown_field")
  /// The value of a property differs from what its type encodes for it, or the `indexValue` of an id from its
  /// raw value.
  public static let fieldMismatch = Self(rawValue: "field_mismatch")

  // Associations
  /// The record refers to a record that was never saved.
  public static let unsavedReference = Self(rawValue: "unsaved_reference")
  /// The record refers to a record that does not exist.
  public static let danglingReference = Self(rawValue: "dangling_reference")
  /// A delete rule of an association forbids deleting the record.
  public static let deleteDenied = Self(rawValue: "delete_denied")
  /// No open type lists the association, or its delete rule, in its schema.
  public static let unknownAssociation = Self(rawValue: "unknown_association")
  /// The association cannot be changed in that way.
  public static let unsuitableAssociation = Self(rawValue: "unsuitable_association")

  // Queries
  /// A query cannot be run as it was written.
  public static let invalidQuery = Self(rawValue: "invalid_query")
  /// An index gave another answer than a full scan; only reported if queries are checked.
  public static let wrongAnswer = Self(rawValue: "wrong_answer")
  /// A sum overflows its type.
  public static let overflow = Self(rawValue: "overflow")
}
