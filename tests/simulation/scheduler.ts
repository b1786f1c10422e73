/*
 * Replaces React's scheduler, which uses the real clock. Work runs by the timers of a page, in the order in which it was
 * scheduled, and is never split. The exports have the names of the package `scheduler`.
 */

interface Task {
  callback: ((isLate: boolean) => unknown) | null;
  readonly priority: number;
}

export const unstable_ImmediatePriority = 1;
export const unstable_UserBlockingPriority = 2;
export const unstable_NormalPriority = 3;
export const unstable_LowPriority = 4;
export const unstable_IdlePriority = 5;

let current = unstable_NormalPriority;

export function unstable_scheduleCallback(
  priority: number,
  callback: Task["callback"],
  { delay = 0 }: { delay?: number } = {},
): Task {
  const task = { callback, priority };
  setTimeout(() => performTasks(task), delay);
  return task;
}

export function unstable_cancelCallback(task: Task): void {
  task.callback = null;
}

export const unstable_shouldYield = () => false;
export const unstable_requestPaint = () => {};
export const unstable_now = () => performance.now();
export const unstable_getCurrentPriorityLevel = () => current;

function performTasks(task: Task): void {
  const { callback, priority } = task;
  if (!callback) return;
  task.callback = null;
  const before = current;
  current = priority;
  try {
    const next = callback(false) as Task["callback"];
    if (typeof next !== "function") return;
    task.callback = next;
    setTimeout(() => performTasks(task));
  } finally {
    current = before;
  }
}
