"""Signatures that ask for one short answer."""

import dspy


class AnswerFromMemory(dspy.Signature):
    """Answer the question from your own knowledge, in as few words as possible.

    If you do not know, reply: unknown
    """

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class AnswerFromDocument(dspy.Signature):
    """Answer the question using only the document, in as few words as possible.

    Copy the answer from it. If the document does not answer the question, reply: no answer
    """

    document: str = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class AnswerFromDocuments(dspy.Signature):
    """Answer the question using only the documents, in as few words as possible.

    The documents may contradict each other: give the answer that is right.
    If no document answers the question, reply: no answer
    """

    documents: str = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
