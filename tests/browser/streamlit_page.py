"""A Streamlit script with one token stream, for `test_stream_in_streamlit.py`."""

import streamlit as st

from specviz.ui.stream_texts import stream_texts
from specviz.ui.token_stream import token_stream

job = st.query_params.get("job", "run")
st.button("Run the script again")
st.session_state["runs"] = st.session_state.get("runs", 0) + 1
st.write(f"Script runs: {st.session_state['runs']}")
if st.toggle("Show the stream", value=True):
    stream = token_stream(job, texts=stream_texts(), key=f"stream.{job}")
    st.write(f"Finished: {stream.finished}")
