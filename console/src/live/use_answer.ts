import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "./client";
import { connection, whyFailed } from "./session";

export interface Answer<T> {
  value: T | null;
  trouble: string;
  /** The controller answered 404. */
  missing: boolean;
  again: () => void;
}

/**
 * The response to one request, repeated periodically; the last response stays when the controller does not answer. A request
 * is not repeated before it is answered: of a slow controller no answer would ever be shown. `later`: asked only once the
 * page is live, so that the grid does not wait for it.
 */
export function useAnswer<T>(question: () => Promise<T>, key: string, everySeconds = 0, later = false): Answer<T> {
  const [value, setValue] = useState<T | null>(null);
  const [trouble, setTrouble] = useState("");
  const [missing, setMissing] = useState(false);
  const live = connection.value.kind === "live";
  const [asked, setAsked] = useState(0);
  const waiting = useRef(false);
  useEffect(() => setValue(null), [key]);
  useEffect(() => {
    if (later && !live) return;
    let left = false;
    waiting.current = true;
    question()
      .then((answer) => {
        if (left) return;
        setValue(answer);
        setTrouble("");
        setMissing(false);
      })
      .catch((error: unknown) => {
        if (left) return;
        setTrouble(whyFailed(error));
        setMissing(error instanceof Refused && error.status === 404);
      })
      .finally(() => !left && (waiting.current = false));
    return () => {
      left = true;
    };
  }, [key, live, asked]);
  useEffect(() => {
    if (!everySeconds) return;
    const timer = setInterval(() => !waiting.current && connection.peek().kind !== "connecting" && setAsked((n) => n + 1), everySeconds * 1000);
    return () => clearInterval(timer);
  }, [everySeconds]);
  return { value, trouble, missing, again: () => setAsked((n) => n + 1) };
}
