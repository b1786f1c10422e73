import { type InputEvent, type RefObject, useLayoutEffect, useRef } from "react";

/**
 * Props of a field that shows a text and changes it. With `value`, React would write all of a long text into the page
 * again at each key.
 */
export function useFieldText(
  field: RefObject<HTMLTextAreaElement | null>,
  text: string,
  onText: (text: string) => void,
) {
  const shown = useRef("");
  useLayoutEffect(() => {
    if (!field.current || shown.current === text) return;
    field.current.setRangeText(text, 0, field.current.textLength, "end");
    shown.current = text;
  }, [field, text]);
  return {
    onInput({ currentTarget }: InputEvent<HTMLTextAreaElement>) {
      shown.current = currentTarget.value;
      onText(shown.current);
    },
  };
}

/** Number of letters to inspect. A text rarely changes its direction later. */
const FIRST = 200;

/**
 * Finds the direction of a text by its first letter. For a text field, in the place of `dir="auto"`: with that, the
 * browser reads all of the field at each key, which takes seconds in a long text.
 */
export function detectDirection(text: string): "ltr" | "rtl" {
  const letter = /\p{L}/u.exec(text.slice(0, FIRST))?.[0] ?? "";
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(
    letter,
  )
    ? "rtl"
    : "ltr";
}
