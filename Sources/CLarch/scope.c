#include "clarch.h"

// What a thread is inside of; see `RunningScope.swift`. Swift has no variables of a thread.
_Thread_local void *larch_innermost_scope;

// A function of the Swift runtime that the compiler calls wherever a program asks for its task.
// `withUnsafeCurrentTask` calls it too, and counts the task up and down around a closure: as much
// as a fifth of an empty read, which asks once.
extern __attribute__((swiftcall)) void *swift_task_getCurrent(void);

const void *larch_current_task(void) { return swift_task_getCurrent(); }
