import type { ReactNode, RefObject } from "react";

interface PayButtonProps {
  readonly button?: RefObject<HTMLButtonElement | null>;
  /** It keeps its place and the focus all the same: the second click of two must not meet another button. */
  readonly isDisabled: boolean;
  readonly children: ReactNode;
}

/** Submits what costs money: a double click, or a key that is held, does so once. */
export function PayButton({ button, isDisabled, children }: PayButtonProps) {
  return (
    <button
      ref={button}
      type="submit"
      className="main"
      aria-disabled={isDisabled}
      onClick={(event) => event.detail > 1 && event.preventDefault()}
      onKeyDown={(event) => event.repeat && event.key === "Enter" && event.preventDefault()}
    >
      {children}
    </button>
  );
}
