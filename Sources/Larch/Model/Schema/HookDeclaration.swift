/// What a transaction did with a record.
public enum RecordChange: Hashable, Sendable {
  /// The record is new.
  case inserted
  /// The record took the place of another with its id.
  case updated
  /// The record is gone.
  case deleted
}

/// The places in a save or a deletion at which code of the type runs.
enum HookStep: Int, CaseIterable {
  case willSave, willInsert, willUpdate, didInsert, didUpdate, didSave, willDelete, didDelete
}

/// A hook that a schema declares. You never need to make one: see ``WillSave``.
@_documentation(visibility: private)
public struct _DeclaredHook<R: Record>: Sendable {
  /// Given the record, what is or was stored for the hooks of an update, and the transaction, whose
  /// type lies above this layer.
  typealias Step = @Sendable (inout R, R?, AnyObject) throws -> Void
  typealias Commit = @Sendable (R, RecordChange) -> Void

  enum Kind: Sendable {
    case step(HookStep, Step)
    case commit(Commit)
  }

  let kind: Kind
}

/// A line of a schema that is a hook. You never need to conform to it.
@_documentation(visibility: private)
public protocol _HookLine: SchemaEntry {
  /// Met by Larch.
  var _declared: _DeclaredHook<R> { get }
}

extension _HookLine {
  /// The hook.
  public var _element: SchemaElement<R> { SchemaElement(kind: .hook(_declared)) }
}

/// The hooks of a record type, those of each place in the order of their lines.
final class HookProgram<R: Record>: Sendable {
  private let steps: [[_DeclaredHook<R>.Step]]
  private let commits: [_DeclaredHook<R>.Commit]

  /// Nil where there are none.
  init?(_ declared: [_DeclaredHook<R>]) {
    if declared.isEmpty { return nil }
    var steps = HookStep.allCases.map { _ in [_DeclaredHook<R>.Step]() }
    var commits: [_DeclaredHook<R>.Commit] = []
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

  /// Runs the hooks of a place.
  ///
  /// - Parameter other: what is or was stored, for the hooks of an update.
  func run(_ step: HookStep, _ record: inout R, _ other: R?, _ tx: AnyObject) throws {
    for body in steps[step.rawValue] { try body(&record, other, tx) }
  }

  func didCommit(_ record: R, _ change: RecordChange) {
    for body in commits { body(record, change) }
  }
}
