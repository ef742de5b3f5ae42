"""Operations on rows of any kind."""
