import { type ReactNode, useEffect, useState } from "react";
import { openSession, type Session } from "./session";

type State = Session | "opening" | "invited-only" | "failed";

/** Shows its content to a signed-in user, and explains the sign-in to others. */
export function SignIn({ children }: { children: (session: Session) => ReactNode }) {
  const [state, setState] = useState<State>("opening");

  useEffect(() => {
    if (state !== "opening") return;
    let isOver = false;
    const settle = (next: State) => !isOver && setState(next);
    openSession().then(
      (session) => settle(session ?? "invited-only"),
      () => settle("failed"),
    );
    return () => {
      isOver = true;
    };
  }, [state]);

  if (typeof state === "object") return children(state);
  if (state === "opening") return <p role="status">Signing in …</p>;
  return (
    <p role="alert">
      {state === "failed"
        ? "Signing in did not work. "
        : "This app is by invitation. Open the link that you were given. "}
      <button type="button" onClick={() => setState("opening")}>
        Try again
      </button>
    </p>
  );
}
