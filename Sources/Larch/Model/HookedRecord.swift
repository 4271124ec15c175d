/// Marks types with hooks, whose protocol names what lies above this layer. Conform to
/// `RecordHooks`.
public protocol _HookedRecord: Record {}
