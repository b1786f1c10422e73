import { type InputEvent, type RefObject, useLayoutEffect, useRef } from "react";

/**
 * Creates the props of a field that shows and changes a text. It replaces `value`, with which React writes a whole long
 * text into the page at each key.
 */
export function useFieldText(
  field: RefObject<HTMLTextAreaElement | null>,
  text: string,
  onText: (text: string) => void,
) {
  const shownText = useRef("");
  useLayoutEffect(() => {
    if (!field.current || shownText.current === text) return;
    field.current.setRangeText(text, 0, field.current.textLength, "end");
    shownText.current = text;
  }, [field, text]);
  return {
    onInput({ currentTarget }: InputEvent<HTMLTextAreaElement>) {
      shownText.current = currentTarget.value;
      onText(shownText.current);
    },
  };
}

/** Number of characters to inspect. */
const INSPECTED_CHARACTERS = 200;

/**
 * Finds the direction of a text by its first letter. It replaces `dir="auto"` of a text field, with which the browser
 * reads the whole field at each key: a long text then takes seconds.
 */
export function detectDirection(text: string): "ltr" | "rtl" {
  const letter = /\p{L}/u.exec(text.slice(0, INSPECTED_CHARACTERS))?.[0] ?? "";
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(
    letter,
  )
    ? "rtl"
    : "ltr";
}
