extension LarchError.Code {
  /// The store is already open in this process with other options.
  public static let conflictingOptions = Self(rawValue: "conflicting_options")
  /// The system has no memory, descriptors or locks left for the store.
  public static let outOfResources = Self(rawValue: "out_of_resources")
}

extension LMDBError {
  /// The error as users see it: a stable code, a sentence that says what to do, and the path.
  func larchError(path: String) -> LarchError {
    let (code, message) = advice
    return LarchError(code, message, underlying: self) { $0.path = path }
  }

  private var advice: (LarchError.Code, StaticString) {
    fileAdvice ?? systemAdvice ?? useAdvice
  }

  private var fileAdvice: (LarchError.Code, StaticString)? {
    switch kind {
    case .invalidFile:
      (.notAStore, "The file is not a Larch store, or its header is damaged; check the path.")
    case .versionMismatch:
      (.newerFormat, "Another version of LMDB wrote the file; open it with that version.")
    case .pageNotFound, .corrupted, .pageFull, .cursorFull:
      (
        .corrupted,
        "The structure of the store is damaged; verify it, then salvage it or restore a backup."
      )
    case .fileNotFound:
      (.fileNotFound, "The store file or its directory is not there; check the path.")
    case .fileExists:
      (.fileExists, "A file is already there; choose another path or remove it.")
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
      (.diskFull, "There is no room left on the disk; nothing was changed, free some and retry.")
    case .ioFailure:
      (.ioFailure, "Reading or writing the store failed; check the disk, then retry.")
    case .panic:
      (.ioFailure, "An earlier failure stopped the store; close it and open it again.")
    case .outOfMemory:
      (.outOfResources, "The system has no memory or address space left; use a smaller map.")
    case .tooManyFiles:
      (.outOfResources, "The process has too many open files; close some or raise the limit.")
    case .busy, .threadKeysFull:
      (.outOfResources, "The system could not give the store a lock; retry later.")
    case .mapFull, .mapResized:
      (.mapFull, "The map of the store is full and could not grow; end long reads and retry.")
    case .readersFull:
      (.readersFull, "All reader slots are taken; end some reads or raise the reader limit.")
    default: nil
    }
  }

  private var useAdvice: (LarchError.Code, StaticString) {
    switch kind {
    case .databasesFull:
      (.storage, "The store has too many collections and indexes; raise the limit of databases.")
    case .transactionFull:
      (.storage, "The transaction changes too much at once; split it into several.")
    case .badValueSize:
      (.storage, "A key or value has a size that LMDB cannot store; keys have 1 to 511 bytes.")
    case .badTransaction:
      (.storage, "The transaction has failed before and cannot go on; end it and start again.")
    case .incompatible, .badDatabase:
      (
        .schemaChanged,
        "A collection or index was changed by another process; close the store and open it again."
      )
    case .keyExists, .notFound:
      (.storage, "A stored entry was not as expected; verify the store.")
    default:
      (.storage, "LMDB reported a failure that Larch did not expect; see the cause.")
    }
  }
}
