import { useVideoTasks } from "@sluice/react";
import { storage } from "../stored.js";
import { TaskCard } from "./task-card.js";
import { usualTimeOf } from "./usual-time.js";
import "./tasks.css";

/** All videos that were asked for in this browser. */
export function TaskList() {
  const { tasks, remove } = useVideoTasks({ storage });
  return (
    <section className="made" aria-label="Videos">
      {tasks.length === 0 ? (
        <p className="nothing">
          A video takes minutes. It goes on when this page is left, and is found here again.
        </p>
      ) : (
        <ul className="tasks" aria-label="Tasks">
          {tasks.map((entry) => (
            <li key={entry.key}>
              <TaskCard
                entry={entry}
                usualTime={usualTimeOf(entry.model, tasks)}
                onRemove={() => remove(entry.key)}
              />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
