import clsx from "clsx";
import { type ComponentProps, type KeyboardEvent, type MouseEvent, useEffect, useRef } from "react";

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

/** Handlers of a button that may cost something: a double click, and a key that is held, press it once. */
export function onPressOnce(press: () => void) {
  return {
    onClick({ detail }: MouseEvent) {
      if (detail < 2) press();
    },
    onKeyDown(event: KeyboardEvent) {
      if (event.repeat && event.key === "Enter") event.preventDefault();
    },
  };
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

interface ChipProps extends ComponentProps<"button"> {
  /** Says whether it is chosen, where it is one of several choices. */
  readonly isPressed?: boolean;
}

/** A small choice or suggestion. */
export function Chip({ isPressed, className, type = "button", ...rest }: ChipProps) {
  return (
    <button
      type={type}
      aria-pressed={isPressed}
      className={clsx(
        "control inline-flex shrink-0 items-center gap-1.5 rounded-full border px-3 text-sm transition-colors",
        "disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-4",
        isPressed ? "border-accent bg-accent-soft text-ink" : "border-edge/50 bg-raised hover:bg-hover",
        className,
      )}
      {...rest}
    />
  );
}

const tones = {
  neutral: "bg-hover text-muted",
  accent: "bg-accent-soft text-accent",
  warn: "bg-warn-soft text-warn",
  danger: "bg-danger-soft text-danger",
};

interface BadgeProps extends ComponentProps<"span"> {
  /** @default "neutral" */
  readonly tone?: keyof typeof tones;
}

/** A word about the state of something; it can't be pressed. */
export function Badge({ tone = "neutral", className, ...rest }: BadgeProps) {
  return (
    <span
      className={clsx(
        "inline-flex shrink-0 items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium [&_svg]:size-3.5",
        tones[tone],
        className,
      )}
      {...rest}
    />
  );
}

interface ProgressBarProps {
  readonly label: string;
  /** From 0 to 1; undefined where nobody knows. */
  readonly share: number | undefined;
  /** Progress in words: `About 8 s left`. */
  readonly text?: string;
  /** True for white on a picture. */
  readonly isOnPicture?: boolean;
}

/** The share of some work that is done. */
export function ProgressBar({ label, share, text, isOnPicture = false }: ProgressBarProps) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={share === undefined ? undefined : Math.round(share * 100)}
      aria-valuetext={text}
      className={clsx("h-1 grow overflow-hidden rounded-full", isOnPicture ? "bg-white/30" : "bg-hover")}
    >
      <div
        className={clsx(
          "h-full rounded-full",
          isOnPicture ? "bg-white" : "bg-accent",
          share === undefined ? "w-1/3 animate-pulse" : "transition-[width] duration-1000 ease-linear",
        )}
        style={share === undefined ? undefined : { width: `${share * 100}%` }}
      />
    </div>
  );
}

interface SkeletonProps {
  /** Size and shape: `h-4 w-40`, `aspect-video`. */
  readonly className?: string;
  /** Name of what is loading. @default hidden from screen readers */
  readonly label?: string;
}

/** Placeholder of something that is still loading. */
export function Skeleton({ className, label }: SkeletonProps) {
  const name = label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label };
  return (
    <div
      {...name}
      className={clsx("animate-pulse rounded-lg border border-transparent bg-hover", className)}
    />
  );
}

/** Time that the pointer has to rest, in milliseconds. */
const DELAY_MS = 400;
const GAP = 6;

/**
 * Shows the text of any element's `data-tip` on hover and keyboard focus; stands once in the page. The element has the
 * same text as its name, so that screen readers do not need the tooltip.
 */
export function Tooltips() {
  const tip = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hide = () => {
      clearTimeout(timer);
      if (tip.current?.matches(":popover-open")) tip.current.hidePopover();
    };
    const targetOf = ({ target }: Event) => (target as Element).closest?.<HTMLElement>("[data-tip]");
    const after = (event: Event, ms: number) => {
      hide();
      const target = targetOf(event);
      if (target && tip.current) timer = setTimeout(show, ms, tip.current, target);
    };
    const onPointer = (event: PointerEvent) => event.pointerType === "mouse" && after(event, DELAY_MS);
    document.addEventListener("pointerover", onPointer, { signal });
    document.addEventListener("pointerdown", hide, { signal });
    document.addEventListener("keydown", hide, { signal });
    document.addEventListener("focusout", hide, { signal });
    const onFocus = (event: FocusEvent) => targetOf(event)?.matches(":focus-visible") && after(event, 0);
    document.addEventListener("focusin", onFocus, { signal });
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, []);

  return (
    <div
      ref={tip}
      popover="manual"
      aria-hidden
      className="pointer-events-none fixed m-0 rounded-md bg-ink px-2 py-1 text-xs whitespace-pre text-canvas"
    />
  );
}

function show(tip: HTMLElement, target: HTMLElement): void {
  // what it opened is over it
  if (!target.isConnected || target.ariaExpanded === "true") return;
  tip.textContent = target.dataset["tip"] ?? "";
  tip.showPopover();
  const { left, top, bottom, width } = target.getBoundingClientRect();
  const { width: ownWidth, height: ownHeight } = tip.getBoundingClientRect();
  const below = bottom + GAP;
  const y = below + ownHeight > innerHeight ? top - GAP - ownHeight : below;
  const x = Math.min(Math.max(GAP, left + width / 2 - ownWidth / 2), innerWidth - ownWidth - GAP);
  tip.style.inset = `${y}px auto auto ${x}px`;
}
