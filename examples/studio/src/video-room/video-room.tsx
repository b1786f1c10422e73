import { isGatewayError } from "@sluice/core";
import { useVideoTask, useVideoTasks } from "@sluice/react";
import { useRef } from "react";
import { Masthead } from "../masthead.js";
import { PayButton } from "../room/pay-button.js";
import { RequestFailure } from "../room/request-failure.js";
import { useDraft } from "../room/use-draft.js";
import { storage } from "../stored.js";
import { emptyOrder, requestOf } from "./order.js";
import { OrderForm } from "./order-form.js";
import { TaskCard } from "./task-card.js";
import "../chat/model-picker.css";
import "../room/room.css";
import "./tasks.css";

/** Where videos are made: each one is a task that goes on at the gateway, whatever happens to this page. */
export function VideoRoom() {
  const [order, setOrder] = useDraft("video", emptyOrder);
  const { submit, reset, isSubmitting, error } = useVideoTask({ storage });
  const { tasks, remove } = useVideoTasks({ storage });
  const main = useRef<HTMLButtonElement>(null);
  const film = async () => {
    const { handle } = await submit(requestOf(order), { label: order.prompt.trim() || order.model });
    // the list has it from here on; the form is free for the next
    if (handle) reset();
  };
  const outcome = isGatewayError(error) ? error.outcome : undefined;

  return (
    <div className="workroom">
      <Masthead />
      <main>
        <OrderForm order={order} onChange={setOrder} onSubmit={() => void film()}>
          <div className="deed">
            <PayButton button={main} isDisabled={isSubmitting}>
              Generate
            </PayButton>
            <span role="status" className="hint">
              {isSubmitting && "Being sent"}
            </span>
          </div>
          {error && (
            <RequestFailure error={error} outcome={outcome} isFresh>
              <button
                type="button"
                className="quiet"
                onClick={() => {
                  main.current?.focus();
                  reset();
                }}
              >
                Dismiss
              </button>
            </RequestFailure>
          )}
        </OrderForm>
        <section className="made" aria-label="Videos">
          {tasks.length === 0 ? (
            <p className="nothing">
              A video takes minutes. It goes on when this page is left, and is found here again.
            </p>
          ) : (
            <ul className="tasks" aria-label="Tasks">
              {tasks.map((entry) => (
                <li key={entry.key}>
                  <TaskCard entry={entry} onRemove={() => remove(entry.key)} />
                </li>
              ))}
            </ul>
          )}
        </section>
      </main>
    </div>
  );
}
