internal import Foundation

extension LarchError.Code {
  /// The store is already open in this process with other options.
  public static let conflictingOptions = Self(rawValue: "conflicting_options")
  /// The system has no memory, descriptors or locks left for the store.
  public static let outOfResources = Self(rawValue: "out_of_resources")
}

extension LMDBError {
  /// The error as users see it: a stable code, a sentence with advice, and the path.
  func larchError(path: String) -> LarchError {
    let error = naming(path)
    let (code, message) = error.advice
    return LarchError(code, message, underlying: error) { $0.path = path }
  }

  /// The error with the cause that it has on a full disk: LMDB reports a write that was cut there as an input
  /// or output error.
  ///
  /// - Parameter path: the file that was written.
  func naming(_ path: String) -> LMDBError {
    kind == .ioFailure && DiskRoom.isOut(at: path) ? LMDBError(ENOSPC, operation) : self
  }

  private var advice: (LarchError.Code, StaticString) {
    fileAdvice ?? systemAdvice ?? useAdvice
  }

  private var fileAdvice: (LarchError.Code, StaticString)? {
    switch kind {
    case .invalidFile:
      (.notAStore, "The file is not a Larch store, or its header is damaged; check the path.")
    case .versionMismatch:
      (.newerFormat, "The file was written by another version of LMDB; open it with that version.")
    case .pageNotFound, .corrupted, .pageFull, .cursorFull:
      (
        .corrupted,
        "The structure of the store is damaged; verify it, then salvage it or restore a backup."
      )
    case .fileNotFound:
      (.fileNotFound, "The store file or its directory does not exist; check the path.")
    case .fileExists:
      (.fileExists, "A file exists at the path; choose another path, or remove the file.")
    case .accessDenied:
      (
        .accessDenied,
        "The process may not use the store file or its lock file; check owner and permissions."
      )
    case .readOnlyFileSystem:
      (.readOnly, "The file system is read-only; open the store read-only.")
    case .unsuitablePath:
      (.unsuitableFile, "The path cannot be used for a store; choose a plain file path.")
    default: nil
    }
  }

  private var systemAdvice: (LarchError.Code, StaticString)? {
    switch kind {
    case .diskFull:
      (.diskFull, "The disk is full, and nothing was changed; free some space, then retry.")
    case .ioFailure:
      (.ioFailure, "Reading or writing the store failed; check the disk, then retry.")
    case .panic:
      (.ioFailure, "An earlier failure stopped the store; close it, then open it again.")
    case .outOfMemory:
      (.outOfResources, "The system has no memory or address space left; use a smaller map.")
    case .tooManyFiles:
      (.outOfResources, "The process has too many open files; close some or raise the limit.")
    case .busy, .threadKeysFull:
      (.outOfResources, "The system has no lock left for the store; retry later.")
    case .mapFull, .mapResized:
      (.mapFull, "The map of the store is full and could not grow; end long reads, then retry.")
    case .readersFull:
      (.readersFull, "All reader slots are in use; end some reads, or raise the reader limit.")
    default: nil
    }
  }

  private var useAdvice: (LarchError.Code, StaticString) {
    switch kind {
    case .databasesFull:
      (
        .storage,
        "The store has more collections and indexes than it was opened for; close it, then open it again."
      )
    case .transactionFull:
      (.storage, "The transaction changes too much at once; split it into several.")
    case .badValueSize:
      (.storage, "A key or value has a size that LMDB cannot store; keys have 1 to 511 bytes.")
    case .badTransaction:
      (
        .storage,
        "An earlier call of the transaction failed, so it cannot continue; end it, then start again."
      )
    case .incompatible, .badDatabase:
      (
        .schemaChanged,
        "Another process changed a collection or index; close the store, then open it again."
      )
    case .keyExists, .notFound:
      (.storage, "A stored entry is not as expected; verify the store.")
    default:
      (.storage, "LMDB reported a failure that Larch did not expect; see the cause.")
    }
  }
}
