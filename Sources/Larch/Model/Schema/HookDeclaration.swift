/// What a transaction did with a record.
public enum RecordChange: Hashable, Sendable {
  /// The record is new.
  case inserted
  /// The record replaced another one with its id.
  case updated
  /// The record was deleted.
  case deleted
}

/// The steps of a save or a deletion at which code of the type runs.
enum HookStep: Int, CaseIterable {
  case willSave, willInsert, willUpdate, didInsert, didUpdate, didSave, willDelete, didDelete
}

/// A hook in a schema.
struct DeclaredHook<R: Record>: Sendable {
  /// Receives the record, the stored one for the hooks of an update, and the transaction, whose
  /// type is in a layer above.
  typealias Step = @Sendable (inout R, R?, AnyObject) throws -> Void
  typealias Commit = @Sendable (R, RecordChange) -> Void

  enum Kind: Sendable {
    case step(HookStep, Step)
    case commit(Commit)
  }

  let kind: Kind
}

extension SchemaElement {
  /// The line of a hook.
  init(hook kind: DeclaredHook<R>.Kind) { self = .hook(DeclaredHook(kind: kind)) }
}

/// The hooks of a record type, those of each step in the order of their lines.
final class HookProgram<R: Record>: Sendable {
  private let steps: [[DeclaredHook<R>.Step]]
  private let commits: [DeclaredHook<R>.Commit]

  /// Nil if there are no hooks.
  init?(_ declared: [DeclaredHook<R>]) {
    if declared.isEmpty { return nil }
    var steps = HookStep.allCases.map { _ in [DeclaredHook<R>.Step]() }
    var commits: [DeclaredHook<R>.Commit] = []
    for hook in declared {
      switch hook.kind {
      case .step(let step, let body): steps[step.rawValue].append(body)
      case .commit(let body): commits.append(body)
      }
    }
    self.steps = steps
    self.commits = commits
  }

  /// Whether anything runs after the commit.
  var hasCommits: Bool { !commits.isEmpty }

  /// Runs the hooks of a step.
  ///
  /// - Parameter other: the stored record, before or after the update.
  func run(_ step: HookStep, _ record: inout R, _ other: R?, _ tx: AnyObject) throws {
    for body in steps[step.rawValue] { try body(&record, other, tx) }
  }

  func didCommit(_ record: R, _ change: RecordChange) {
    for body in commits { body(record, change) }
  }
}
