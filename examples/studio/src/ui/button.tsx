import clsx from "clsx";
import type { ComponentProps } from "react";

const looks = {
  primary: "bg-accent text-on-accent hover:brightness-95",
  secondary: "border border-edge/50 bg-raised hover:bg-hover",
  quiet: "text-muted hover:bg-hover hover:text-ink",
  link: "text-accent hover:bg-hover",
  danger: "bg-danger-soft text-danger hover:opacity-90",
};

interface ButtonProps extends ComponentProps<"button"> {
  /** @default "secondary" */
  readonly look?: keyof typeof looks;
}

/** A button with a text, and perhaps an icon before it. */
export function Button({ look = "secondary", className, type = "button", ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={clsx(
        "control inline-flex shrink-0 items-center justify-center gap-2 rounded-lg px-3 text-sm font-medium",
        "transition-colors disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
        looks[look],
        className,
      )}
      {...rest}
    />
  );
}

interface IconButtonProps extends ComponentProps<"button"> {
  /** Name of the button, also its tooltip. */
  readonly label: string;
  /** Keys that do the same, shown in the tooltip: `⌘B`. */
  readonly keys?: string | undefined;
  /** @default "quiet" */
  readonly look?: keyof typeof looks;
}

/** A button that is an icon; `Tooltips` shows its name on hover and focus. */
export function IconButton({
  label,
  keys,
  look = "quiet",
  className,
  type = "button",
  ...rest
}: IconButtonProps) {
  return (
    <button
      type={type}
      aria-label={label}
      data-tip={keys ? `${label}   ${keys}` : label}
      className={clsx(
        "control-square inline-flex shrink-0 items-center justify-center rounded-lg transition-colors",
        "disabled:cursor-not-allowed disabled:opacity-50 aria-pressed:text-ink [&_svg]:size-4.5",
        looks[look],
        className,
      )}
      {...rest}
    />
  );
}
